package dynamodb

type updateTimeToLiveRequest struct {
	TableName               string
	TimeToLiveSpecification *timeToLiveSpecification
}

type timeToLiveSpecification struct {
	AttributeName string
	Enabled       *bool
}

type updateTimeToLiveReply struct{ TimeToLiveSpecification timeToLiveSpecification }

func (s *Server) updateTimeToLive(r *updateTimeToLiveRequest, _ *bill) (any, error) {
	spec := r.TimeToLiveSpecification
	if spec == nil || spec.Enabled == nil {
		return nil, unconstrained("timeToLiveSpecification.enabled", nil, "Member must not be null")
	}
	if spec.AttributeName == "" || len(spec.AttributeName) > maxKeyName {
		return nil, unconstrained("timeToLiveSpecification.attributeName", spec.AttributeName, "Member must have length from 1 to %d", maxKeyName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	changed := t.schema
	switch {
	case *spec.Enabled && t.Expiry != "":
		return nil, invalid("TimeToLive is already enabled")
	case *spec.Enabled:
		changed.Expiry = spec.AttributeName
	case t.Expiry == "":
		return nil, invalid("TimeToLive is already disabled")
	case t.Expiry != spec.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.Expiry)
	default:
		changed.Expiry = ""
	}
	if err := s.saveSchema(changed); err != nil {
		return nil, err
	}
	t.schema = changed
	return updateTimeToLiveReply{*spec}, nil
}

type timeToLiveDescription struct {
	TimeToLiveStatus string
	AttributeName    string `json:",omitempty"`
}

type describeTimeToLiveReply struct{ TimeToLiveDescription timeToLiveDescription }

func (s *Server) describeTimeToLive(r *tableRequest, _ *bill) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	if t.Expiry == "" {
		return describeTimeToLiveReply{timeToLiveDescription{TimeToLiveStatus: "DISABLED"}}, nil
	}
	return describeTimeToLiveReply{timeToLiveDescription{"ENABLED", t.Expiry}}, nil
}

// Expire deletes the items whose time has passed by the server's clock, in
// tables with time to live, and returns how many. Nothing else deletes them:
// DynamoDB takes up to days, and serves and bills them until then.
func (s *Server) Expire() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	latest, earliest := now.Unix(), now.AddDate(-oldestExpiryYears, 0, 0).Unix()
	var changes []change
	for _, t := range s.tables {
		if t.Expiry == "" {
			continue
		}
		t.rows.Scan(func(key string, r row) bool {
			at, has := r.item[t.Expiry]
			if has && at.kind == kindN && at.number().compare(intNumber(int(latest))) <= 0 && at.number().compare(intNumber(int(earliest))) >= 0 {
				changes = append(changes, change{table: t, key: key, before: r})
			}
			return true
		})
	}
	return len(changes), s.commit(changes...)
}
