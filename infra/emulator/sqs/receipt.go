package sqs

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/google/uuid"
)

// receipt is what a receipt handle says: which receive of which message.
type receipt struct {
	Queue    uint64
	Sequence uint64
	ID       uuid.UUID
	Receives uint32
}

// handle spells a receipt, with a checksum that tells a damaged one.
func (r receipt) handle() string {
	raw, _ := binary.Append(nil, binary.BigEndian, r) // a struct of fixed size can't fail
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw)))
}

// parseReceipt reads a handle that handle spelled.
func parseReceipt(handle string) (r receipt, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(handle)
	size := binary.Size(r)
	if err != nil || len(raw) != size+4 || crc32.ChecksumIEEE(raw[:size]) != binary.BigEndian.Uint32(raw[size:]) {
		return r, false
	}
	_, err = binary.Decode(raw, binary.BigEndian, &r)
	return r, err == nil
}

// find returns the message that a handle names, or nil if it is gone, and
// whether the handle is of the message's latest receive.
func (q *queue) find(handle string) (m *message, latest bool, err error) {
	if handle == "" {
		return nil, false, missing("ReceiptHandle")
	}
	r, ok := parseReceipt(handle)
	if !ok || r.Queue != q.id {
		return nil, false, receiptHandleIsInvalid.errorf("The input receipt handle is invalid.")
	}
	m = q.messages[r.Sequence]
	if m == nil || m.ID != r.ID {
		return nil, false, nil
	}
	return m, m.Receives == int(r.Receives), nil
}
