// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/examples/camera/page"
	"github.com/xdpath/xdpath/examples/camera/picture"
)

// consumer does with images what the flags say.
type consumer struct {
	cfg      config
	page     *page.Page
	server   *http.Server
	complete int
	saved    int
}

// consumer makes one, and opens the page.
func (s *session) consumer() (*consumer, error) {
	c := &consumer{cfg: s.cfg}
	if s.cfg.http == "" {
		return c, nil
	}
	l, err := net.Listen("tcp", s.cfg.http)
	if err != nil {
		return nil, fmt.Errorf("receive: -http: %w", err)
	}
	c.page = page.New(s.status)
	c.server = &http.Server{Handler: c.page.Handler()}
	go c.server.Serve(l) // until it is closed; l.Addr works from now on
	fmt.Fprintf(s.w, "page: http://%v/\n", l.Addr())
	return c, nil
}

// run takes images until there are no more. The first file that cannot be written is
// the last that is tried: the stream goes on.
func (c *consumer) run(in *intake.Intake) (err error) {
	for m := range in.Images() {
		if c.page != nil {
			c.page.Offer(m)
		}
		if c.cfg.saveDir != "" && err == nil {
			err = c.save(m)
		}
		in.Release(m)
	}
	return err
}

func (c *consumer) save(m *assemble.Image) error {
	if m.Status != assemble.Complete {
		return nil
	}
	c.complete++
	if (c.complete-1)%c.cfg.every != 0 {
		return nil
	}
	p, err := picture.Decode(m.Leader, m.Data)
	if err != nil {
		return err
	}
	c.saved++
	_, err = picture.Save(c.cfg.saveDir, fmt.Sprintf("image-%06d", c.saved), c.cfg.format, p)
	return err
}

// close closes the page.
func (c *consumer) close() error {
	if c.server == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), closing)
	defer stop()
	if err := c.server.Shutdown(ctx); err != nil {
		return errors.Join(err, c.server.Close())
	}
	return nil
}
