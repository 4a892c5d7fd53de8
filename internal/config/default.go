package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Default returns the options with every field at its default, for callers that have no command line.
func Default() Crawl {
	var c Crawl
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		text, ok := v.Type().Field(i).Tag.Lookup("default")
		if !ok {
			continue
		}
		if err := set(v.Field(i), text); err != nil {
			panic(fmt.Sprintf("default of %s: %v", v.Type().Field(i).Name, err)) // our own tag
		}
	}
	return c
}

func set(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
	case reflect.Int:
		n, err := strconv.Atoi(text)
		v.SetInt(int64(n))
		return err
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return err
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return err
	default:
		return fmt.Errorf("no reader for %s", v.Kind())
	}
	return nil
}
