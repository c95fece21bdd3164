// Package drivertest runs the suites storetest and queuetest on the drivers
// that ship, against
//
//   - our emulators (TestStore, TestQueue);
//   - independent ones (TestStoreIndependent, TestQueueIndependent), when
//     TOOLHOST_TEST_INDEPENDENT names one (moto, dynalite or fauxqs) and
//     TOOLHOST_TEST_DYNAMODB_URL or TOOLHOST_TEST_SQS_URL says where it is;
//     independent.sh installs and starts all three;
//   - AWS (TestStoreAWS, TestQueueAWS), when TOOLHOST_TEST_AWS_TABLE or
//     TOOLHOST_TEST_AWS_QUEUE names a table or the URL of a queue that is for
//     tests alone. That costs a few cents; the queue is emptied.
//
// Faults are injected into the client's connection, so they hit the SDK's own
// retries in the same way everywhere.
package drivertest
