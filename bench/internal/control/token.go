// SPDX-License-Identifier: MIT

package control

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// NonceSize is the length in bytes of what each end makes up for a session.
const NonceSize = 16

// MinToken is the length of the shortest token, in bytes: what is shorter can be
// guessed by trying.
const MinToken = 16

// A Token is the secret that both ends share. It never goes over the wire: each end
// proves that it has it.
type Token []byte

// NewNonce makes random bytes up.
func NewNonce() []byte {
	b := make([]byte, NonceSize)
	_, _ = rand.Read(b) // never fails
	return b
}

// Validate tells whether a token is long enough.
func (t Token) Validate() error {
	if len(t) < MinToken {
		return fmt.Errorf("a token of %d bytes: must have at least %d, head -c 24 /dev/urandom | base64 makes one", len(t), MinToken)
	}
	return nil
}

// Who proves it: a proof of one side is none for the other.
const (
	proofClient = "xdpath-bench client"
	proofServer = "xdpath-bench server"
)

// ClientProof is what a client sends in answer to a challenge.
func (t Token) ClientProof(server, client []byte) []byte { return t.proof(proofClient, server, client) }

// ServerProof is what the server sends after that.
func (t Token) ServerProof(server, client []byte) []byte { return t.proof(proofServer, server, client) }

// proof is a keyed hash over the nonces of both ends, which are of one length each.
func (t Token) proof(who string, server, client []byte) []byte {
	h := hmac.New(sha256.New, t)
	for _, part := range [][]byte{[]byte(who), server, client} {
		h.Write(part)
	}
	return h.Sum(nil)
}

// EqualProof compares in a time that does not tell where two proofs differ.
func EqualProof(a, b []byte) bool { return hmac.Equal(a, b) }
