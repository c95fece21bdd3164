package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/quota"
	"toolhost/pkg/task"
)

// quotaError refuses a creation that is over a limit of its caller's.
type quotaError struct {
	placed
	after time.Duration // zero: nobody knows
}

func (e quotaError) Unwrap() error { return e.placed }

// withinQuota holds a new task to its caller's quota. A call that has become a task
// before takes none: that task is the answer.
func (s *Server) withinQuota(ctx context.Context, c *call, who identity, t task.Task) (quota.Place, any, error) {
	if s.quota == nil {
		return quota.Place{}, nil, nil
	}
	if answer, err := s.made(ctx, c, who); answer != nil || err != nil {
		return quota.Place{}, answer, err
	}
	place, err := s.quota.Admit(ctx, t)
	var over *quota.ExceededError
	if errors.As(err, &over) {
		e := jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", over.Error())
		e.Data = jsonrpc.Encode(struct {
			Limit quota.Limit `json:"limit"`
			Max   int         `json:"max"`
		}{over.Limit, over.Max})
		err = quotaError{placed{e, http.StatusTooManyRequests}, over.RetryAfter}
	}
	return place, nil, err
}

// tidy gives back what a creation holds of its caller's quota. Where it fails,
// the caller's next creation that needs it does it again.
func (s *Server) tidy(ctx context.Context, giveBack func(context.Context) error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := giveBack(ctx); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "quota not given back", slog.String("error", err.Error()))
	}
}
