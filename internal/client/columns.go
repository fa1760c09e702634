package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// SendColumn sends what write writes to the master, and stores its id and checksum in data, for the
// job to be submitted. It sends one piece at a time, and repeats a piece if the connection is lost.
func (c *Client) SendColumn(
	ctx context.Context, data *job.ColumnData, write func(io.Writer) error,
) error {
	s := &columnSender{client: c, ctx: ctx, id: rand.Text()}
	var sum store.Sum
	if err := write(io.MultiWriter(s, &sum)); err != nil {
		return err
	}
	data.ID, data.Sum = s.id, &sum
	return s.send(s.waiting.Next(s.waiting.Len()), true)
}

// columnSender is a writer that sends data in pieces.
type columnSender struct {
	client  *Client
	ctx     context.Context
	id      string
	sent    uint64
	waiting bytes.Buffer
}

func (s *columnSender) Write(p []byte) (int, error) {
	s.waiting.Write(p)
	for s.waiting.Len() >= control.ChunkSize {
		if err := s.send(s.waiting.Next(control.ChunkSize), false); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (s *columnSender) send(data []byte, last bool) error {
	request := &control.SendColumnRequest{Id: s.id, Offset: s.sent, Data: data, Last: last}
	_, err := again(s.ctx, s.client, control.ClusterClient.SendColumn, request)
	s.sent += uint64(len(data))
	return err
}
