package master

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// database is what a master keeps of itself on the disk, for the next run with the same data:
//
//	DATA/state.db   a file of bbolt
//	  meta          format: the version of what follows, as text; digest: the exclusive or of the FNV-1a of all records, 8 bytes
//	  jobs, graphs  name: CRC-32C of the record (4 bytes, big-endian), record
type database struct {
	db    *bbolt.DB
	found bool // it was there
}

// Names and bounds of the database.
const (
	databaseFile   = "state.db"
	databaseFormat = 2
	openTimeout    = time.Second
)

var (
	metaBucket  = []byte("meta")
	formatKey   = []byte("format")
	digestKey   = []byte("digest")
	jobBucket   = []byte("jobs")
	graphBucket = []byte("graphs")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// record is a value of a bucket to be written; no data removes it.
type record struct {
	bucket []byte
	key    string
	data   []byte
}

// openDatabase reads the database in a directory, passes on all its records, and makes it anew of these, so that nothing is built on
// what was not looked at. One that is damaged, or of a later version, is an error and stays as it is. Where it cannot be made anew, as on a disk that
// is full, the old one is used, if it is in order.
func openDatabase(dir string, each func(bucket []byte, key string, data []byte) error) (*database, error) {
	path := filepath.Join(dir, databaseFile)
	fresh := path + ".new"
	_ = os.Remove(fresh) // of a start that did not come to its end
	all, err := readAll(path)
	for _, r := range all {
		if err == nil {
			if err = each(r.bucket, r.key, r.data); err != nil {
				err = fmt.Errorf("it is damaged: %s %.100q: %w", r.bucket, r.key, err)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s cannot be used, and stays as it is: %w (superstep restore makes another directory of a backup; with the file moved away a master begins without jobs and graphs, and has the results)", path, err)
	}
	_, absent := os.Stat(path)
	d := &database{found: absent == nil}
	err = d.remake(fresh, path, all)
	if err != nil {
		_ = os.Remove(fresh)
	}
	if err != nil && d.found {
		err = d.reuse(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return d, nil
}

// reuse opens a database as it is, as it could not be made anew.
func (d *database) reuse(path string, why error) (err error) {
	if d.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openTimeout}); err != nil {
		return why
	}
	err = d.db.View(func(tx *bbolt.Tx) (err error) {
		for found := range tx.Check() { // to its end, which lets the transaction go
			err = cmp.Or(err, found)
		}
		return err
	})
	if err != nil {
		return errors.Join(why, err, d.db.Close())
	}
	return nil
}

// remake makes a database of records, and gives it its name.
func (d *database) remake(fresh, path string, all []record) (err error) {
	if d.db, err = bbolt.Open(fresh, 0o600, &bbolt.Options{Timeout: openTimeout}); err != nil {
		return err
	}
	err = d.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, jobBucket, graphBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(metaBucket).Put(formatKey, []byte(strconv.Itoa(databaseFormat)))
	})
	if err == nil {
		err = d.write(all)
	}
	if err = errors.Join(err, d.db.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err == nil {
		d.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openTimeout})
	}
	return err
}

// readAll reads a database, none if there is no file. A damaged file may make bbolt panic, or lead beyond its end in memory.
func readAll(path string) (all []record, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() == 0: // bbolt would make a new one of it; a master's is never empty
		return nil, errors.New("it is empty, as after a crash of the machine or a full disk: there was one, for a master makes none that is empty")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			all, err = nil, fmt.Errorf("it is damaged: %.200s", strings.Join(strings.Fields(fmt.Sprint(r)), " "))
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: openTimeout})
	if path := (*fs.PathError)(nil); errors.As(err, &path) || errors.Is(err, berrors.ErrTimeout) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("it is damaged, cut off, or no state of a master: %w", err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it is damaged: found %d bytes, expected %d at least", info.Size(), tx.Size())
		}
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			return errors.New("it is no state of a master, or damaged")
		}
		format := string(meta.Get(formatKey))
		if version, err := strconv.Atoi(format); err != nil || version != databaseFormat {
			return fmt.Errorf("found format %.20q, this master knows %d: take the superstep that has written it", format, databaseFormat)
		}
		digest := uint64(0)
		for _, name := range [][]byte{jobBucket, graphBucket} {
			b := tx.Bucket(name)
			if b == nil {
				return fmt.Errorf("it is damaged: it has no %s", name)
			}
			err := b.ForEach(func(k, v []byte) error {
				data, err := checked(v)
				if err != nil {
					return fmt.Errorf("it is damaged: %s %.100q: %w", name, k, err)
				}
				digest ^= hashed(name, k, v)
				all = append(all, record{name, string(k), bytes.Clone(data)})
				return nil
			})
			if err != nil {
				return err
			}
		}
		if found := meta.Get(digestKey); len(all) > 0 && (len(found) != 8 || binary.BigEndian.Uint64(found) != digest) {
			return errors.New("it is damaged: records are missing, or too many")
		}
		return nil
	})
	return all, err
}

// hashed is a record's part of the digest of all.
func hashed(bucket, key, value []byte) uint64 {
	h := fnv.New64a()
	for _, part := range [][]byte{bucket, {0}, key, {0}, value} {
		_, _ = h.Write(part)
	}
	return h.Sum64()
}

var errChecksum = errors.New("found another checksum than was written")

// checked returns a record's data, which are valid as long as value is.
func checked(value []byte) ([]byte, error) {
	if len(value) < 4 || crc32.Checksum(value[4:], castagnoli) != binary.BigEndian.Uint32(value) {
		return nil, errChecksum
	}
	return value[4:], nil
}

// write writes records, all of them or none.
func (d *database) write(all []record) error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		meta, digest := tx.Bucket(metaBucket), uint64(0)
		if before := meta.Get(digestKey); len(before) == 8 {
			digest = binary.BigEndian.Uint64(before)
		}
		for _, r := range all {
			b, key := tx.Bucket(r.bucket), []byte(r.key)
			if old := b.Get(key); old != nil {
				digest ^= hashed(r.bucket, key, old)
			}
			if r.data == nil {
				if err := b.Delete(key); err != nil {
					return err
				}
				continue
			}
			value := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(r.data)), crc32.Checksum(r.data, castagnoli))
			value = append(value, r.data...)
			digest ^= hashed(r.bucket, key, value)
			if err := b.Put(key, value); err != nil {
				return err
			}
		}
		return meta.Put(digestKey, binary.BigEndian.AppendUint64(nil, digest))
	})
}

func (d *database) close() {
	if d != nil {
		_ = d.db.Close() // everything is written
	}
}
