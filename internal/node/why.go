package node

import (
	"strings"

	"decorum/internal/inspect"
	"decorum/internal/weburl"
)

// Why explains what became of a URL so far, in lines for a person. It may be called at any time between Open and Close.
func (n *Node) Why(url string) (string, error) {
	c := &n.opt.Config
	live := inspect.Live{Dir: n.dir, DB: n.db, Frontier: n.parts.Frontier, Filter: n.parts.Filter, Policy: n.parts.Policy}
	r, err := inspect.WhyLive(live, url, inspect.WhyOptions{PoliteKey: n.parts.Frontier.PoliteKey, IgnoreRobots: c.IgnoreRobots,
		Keys: weburl.KeyRules{KeepSessionIDs: c.KeepSessionIDs, KeepTracking: c.KeepTracking}})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = r.WriteText(&b)
	return b.String(), err
}
