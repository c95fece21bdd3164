package stack

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"toolhost/pkg/config"
	"toolhost/pkg/fault"
)

const (
	// attempts is how often a call is made at most; the SDK pauses in between.
	attempts = 4
	// connectTime and callTime bound one attempt: what hangs is tried again.
	connectTime = 2 * time.Second
	callTime    = 10 * time.Second
)

// connect says how AWS is reached.
func connect(ctx context.Context, given *aws.Config) (aws.Config, error) {
	var access aws.Config
	if given != nil {
		access = given.Copy()
	} else {
		var err error
		if access, err = awsconfig.LoadDefaultConfig(ctx); err != nil {
			return access, fault.Wrap(fault.Internal, "stack.Open", err)
		}
	}
	access.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = attempts })
	}
	access.HTTPClient = awshttp.NewBuildableClient().WithTimeout(callTime).WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTime })
	return access, nil
}

// fetchKeys reads the keys from Secrets Manager.
func fetchKeys(ctx context.Context, access aws.Config, secret string) (config.Keys, error) {
	out, err := secretsmanager.NewFromConfig(access).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
	if err != nil {
		return config.Keys{}, fault.Wrap(fault.Internal, "stack.Open", fmt.Errorf("the secret that TOOLHOST_KEYS_SECRET names can't be read: %w", err))
	}
	keys, err := config.ParseKeys(aws.ToString(out.SecretString))
	if err != nil {
		return config.Keys{}, fault.New(fault.Invalid, "stack.Open", "the secret that TOOLHOST_KEYS_SECRET names %v", err)
	}
	return keys, nil
}
