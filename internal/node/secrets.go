package node

import (
	"strings"

	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// openSecrets reads what is sent to whom. It is never stored: a resumed crawl is given it again, or goes without.
func (n *Node) openSecrets() error {
	var urls []weburl.URL
	for _, s := range n.seeds() {
		urls = append(urls, s.URL)
	}
	set, err := n.opt.Config.Credentials(urls)
	n.secrets = set
	return err
}

// redacted names the request fields whose values stay out of the archive.
func (n *Node) redacted() []string {
	if !n.opt.Config.Redact {
		return nil
	}
	return n.secrets.Names()
}

// redactedInfo tells readers of the archive what they do not see.
func (n *Node) redactedInfo() []warc.Field {
	if !n.opt.Config.Redact {
		return nil
	}
	return []warc.Field{{Name: "redacted-request-fields", Value: strings.Join(n.redacted(), ", ")}}
}

// proxyTrouble is the result of a crawl that its proxy ended, if it did: nothing is wrong with the folder, and no URL was
// written off.
func proxyTrouble(err error) (Result, bool) {
	trouble := fetch.ProxyTrouble(err)
	if trouble == nil {
		return Result{}, false
	}
	return Result{Reason: jobdir.EndInterrupted, Detail: trouble.Error(), Proxy: trouble}, true
}
