// Package s3 is a store in a bucket of S3.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// bucket is a store in a bucket, below a prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string // the prefix is empty or ends with a slash
	anonymous    bool
}

// Limits of requests to S3: the time to connect, the time until an answer begins, and the number of
// retries, each after a longer wait.
const (
	connectTime = 10 * time.Second
	answerTime  = 60 * time.Second
	retries     = 6
)

// Open returns the store of s3://BUCKET/PREFIX. The server is AWS_ENDPOINT_URL, by default
// Amazon's, in the region AWS_REGION. Credentials are in AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, or in ~/.aws/credentials, or come from the machine's role. A place cannot
// name another server: only whoever starts a process decides where its data go.
func Open(place string) (store.Store, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(place, store.S3), "/")
	if err := s3utils.CheckValidBucketNameStrict(name); err != nil {
		return nil, fmt.Errorf("%s: found bucket %q: %w", place, name, err)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		if !fs.ValidPath(prefix) {
			return nil, fmt.Errorf("%s: found prefix %q, expected names separated by /", place,
				prefix)
		}
		prefix += "/"
	}
	endpoint, err := url.Parse(cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"),
		os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" &&
		endpoint.Scheme != "https" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("%s: found AWS_ENDPOINT_URL %q, expected one such as https://s3.example.com:9000", place, endpoint)
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if strings.HasSuffix(endpoint.Hostname(), ".amazonaws.com") {
		providers = append(providers, &credentials.IAM{})
	}
	who := credentials.NewChainCredentials(providers)
	value, err := who.GetWithContext(
		&credentials.CredContext{Client: &http.Client{Timeout: connectTime}})
	if err != nil {
		return nil, fmt.Errorf("%s: reading the access key: %w", place, err)
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout = connectTime, answerTime
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: who, Secure: endpoint.Scheme == "https",
		Region:    cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Transport: transport, MaxRetries: retries,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return &bucket{client, name, prefix, value.AccessKeyID == ""}, nil
}

// String returns s3://BUCKET/PREFIX.
func (s *bucket) String() string { return strings.TrimSuffix(store.S3+s.name+"/"+s.prefix, "/") }

// Put implements store.Store. It sends objects of more than 16 MiB in parts.
func (s *bucket) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	return s.put(ctx, name, data, size, minio.PutObjectOptions{})
}

// put sends the data with their MD5, which the server checks.
func (s *bucket) put(
	ctx context.Context, name string, data io.ReaderAt, size int64, options minio.PutObjectOptions,
) error {
	if err := store.Named(s, name); err != nil {
		return err
	}
	options.SendContentMd5, options.DisableContentSha256 = true, true
	return s.failed("write", name, again(ctx, func() error {
		var body io.Reader = io.NewSectionReader(data, 0, size)
		if size == 0 {
			body = http.NoBody
		}
		_, err := s.client.PutObject(ctx, s.name, s.prefix+name, body, size, options)
		return err
	}))
}

// again repeats a request whose answer broke off in the middle, which the client does not do.
func again(ctx context.Context, request func() error) error {
	for try := 0; ; try++ {
		err := request()
		if !errors.Is(err, io.ErrUnexpectedEOF) || try == retries {
			return err
		}
		if err := parallel.Sleep(ctx, 50*time.Millisecond<<try); err != nil {
			return err
		}
	}
}

// PutIfAbsent is Store.PutIfAbsent.
func (s *bucket) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	var options minio.PutObjectOptions
	options.SetMatchETagExcept("*")
	err := s.put(ctx, name, bytes.NewReader(data), int64(len(data)), options)
	if status(err) == http.StatusPreconditionFailed || status(err) == http.StatusConflict {
		if there, readErr := store.Get(ctx, s, name, int64(len(data))); readErr == nil &&
			bytes.Equal(there, data) {
			return nil // our own earlier request, whose answer was lost
		}
		return store.Failed("write", s, name, fs.ErrExist)
	}
	return err
}

// GetRange is Store.GetRange.
func (s *bucket) GetRange(ctx context.Context, o store.Object, off int64, p []byte) error {
	if err := store.Named(s, o.Name); err != nil || len(p) == 0 {
		return err
	}
	var options minio.GetObjectOptions
	if err := options.SetRange(off, off+int64(len(p))-1); err != nil {
		return s.failed("read", o.Name, err)
	}
	if o.Version != "" {
		if err := options.SetMatchETag(o.Version); err != nil {
			return s.failed("read", o.Name, err)
		}
	}
	return s.failed("read", o.Name, again(ctx, func() error { return s.read(ctx, o, options, p) }))
}

func (s *bucket) read(
	ctx context.Context, o store.Object, options minio.GetObjectOptions, p []byte,
) (err error) {
	body, info, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.name, s.prefix+o.Name,
		options)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, body.Close()) }()
	if o.Version != "" && info.ETag != o.Version { // the server does not compare
		return store.ErrChanged
	}
	if info.Size < int64(len(p)) {
		return fmt.Errorf("found %d bytes, expected %d", info.Size, len(p))
	}
	if _, err = io.ReadFull(body, p); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// List is Store.List.
func (s *bucket) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		options := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}
		wanted := true
		err := again(ctx, func() error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for o := range s.client.ListObjectsIter(ctx, s.name, options) {
				if o.Err != nil {
					return o.Err
				}
				options.StartAfter = o.Key // continue here if an answer breaks off
				name := strings.TrimPrefix(o.Key, s.prefix)
				if strings.HasSuffix(name, "/") {
					continue // an entry that some tools make for a folder
				}
				found := store.Object{Name: name, Size: o.Size, Version: o.ETag}
				found.Modified = o.LastModified
				if wanted = yield(found, nil); !wanted {
					return nil
				}
			}
			return ctx.Err()
		})
		if err != nil && wanted {
			yield(store.Object{}, s.failed("list", prefix, err))
		}
	}
}

// Delete is Store.Delete.
func (s *bucket) Delete(ctx context.Context, name string) error {
	if err := store.Named(s, name); err != nil {
		return err
	}
	err := again(ctx, func() error {
		return s.client.RemoveObject(ctx, s.name, s.prefix+name, minio.RemoveObjectOptions{})
	})
	if status(err) == http.StatusNotFound && minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil
	}
	return s.failed("delete", name, err)
}

// status returns the HTTP status of a server's error, or 0.
func status(err error) int {
	var refused minio.ErrorResponse
	if errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}

// failed converts an error of the client.
func (s *bucket) failed(what, name string, err error) error {
	if err == nil {
		return nil
	}
	var refused minio.ErrorResponse
	if errors.As(err, &refused) {
		switch {
		case refused.Code == minio.NoSuchBucket:
			err = store.ErrNoBucket
		case refused.StatusCode == http.StatusNotFound:
			err = fs.ErrNotExist
		case refused.StatusCode == http.StatusPreconditionFailed:
			err = fmt.Errorf("%w: %w", store.ErrChanged, err)
		case refused.StatusCode == http.StatusForbidden && s.anonymous:
			err = fmt.Errorf("%w (no access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have ~/.aws/credentials): %w", fs.ErrPermission, err)
		case refused.StatusCode == http.StatusForbidden:
			err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
		}
	}
	var request *url.Error // it contains the whole request with all its parameters
	if errors.As(err, &request) {
		err = fmt.Errorf("request to %s: %w", s.client.EndpointURL().Host, request.Err)
	}
	return store.Failed(what, s, name, err)
}
