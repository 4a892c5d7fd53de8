package config

import (
	"errors"
	"fmt"
	"strings"

	"decorum/internal/credentials"
	"decorum/internal/fetch"
	"decorum/internal/weburl"
)

// validateSecrets tests what may be a secret: no problem repeats a value.
func (c *Crawl) validateSecrets() error {
	var errs []error
	for _, h := range c.Header {
		if _, err := credentials.ParseField(h); err != nil {
			errs = append(errs, bad("-H", "%v", err))
		}
	}
	for _, a := range c.Auth {
		if _, err := credentials.ParseLogin(a); err != nil {
			errs = append(errs, bad("--auth", "%v", err))
		}
	}
	if c.Cookies != "" {
		if _, err := credentials.ReadCookieFile(c.Cookies); err != nil {
			errs = append(errs, bad("--cookies", "%v", err))
		}
	}
	_, err := c.ProxyWay()
	return errors.Join(append(errs, err)...)
}

// Credentials returns what is sent to whom besides the usual.
func (c *Crawl) Credentials(seeds []weburl.URL) (*credentials.Set, error) {
	return credentials.New(credentials.Options{Seeds: seeds, Fields: c.Header, Auth: c.Auth, Cookies: c.Cookies})
}

// ProxyWay returns --proxy; the zero Proxy is none.
func (c *Crawl) ProxyWay() (fetch.Proxy, error) {
	if c.Proxy == "" {
		return fetch.Proxy{}, nil
	}
	p, err := fetch.ParseProxy(c.Proxy)
	if err != nil {
		return p, bad("--proxy", "%v", err)
	}
	return p, nil
}

// withoutSecret is the value of an option as it is stored: a proxy without its credentials, so that a resumed crawl still
// takes the same way and fails there rather than going without.
func withoutSecret(e Entry) any {
	if e.Name != "proxy" {
		return e.Value
	}
	p, err := fetch.ParseProxy(fmt.Sprint(e.Value))
	if err != nil {
		return ""
	}
	return p.String()
}

// Shown is the value of an option as a screen may show it: of secrets only that they are set, and for whom.
func Shown(name string, v any) any {
	const set = "(set)"
	switch name {
	case "token":
		if fmt.Sprint(v) != "" {
			return set
		}
	case "header":
		return each(v, func(field string) string {
			name, _, ok := strings.Cut(field, ":")
			if !ok {
				return set
			}
			return name + ": " + set
		})
	case "auth":
		return each(v, func(text string) string {
			l, err := credentials.ParseLogin(text)
			if err != nil {
				return set
			}
			return set + "@" + l.String()
		})
	case "proxy":
		return withoutSecret(Entry{Name: name, Value: v})
	}
	return v
}

func each(v any, show func(string) string) []string {
	var out []string
	switch list := v.(type) {
	case []string:
		for _, s := range list {
			out = append(out, show(s))
		}
	case []any:
		for _, s := range list {
			out = append(out, show(fmt.Sprint(s)))
		}
	}
	return out
}
