/** A final frame of binary data (RFC 6455, section 5.2). */
const FINAL_BINARY = 0x82
const MASKED = 0x80
/** Up to this length it is in the second byte; beyond, up to 65,535, that byte says that two more have it. */
const SHORT_LENGTH = 125
const TWO_BYTES = 126
const MASK_BYTES = 4

/** Messages of up to this size are worth to be joined: larger ones gain nothing from sharing a system call, but take the copy. */
export const JOINED_BYTES = 16 * 1024

/**
 * Messages as WebSocket frames, one behind the other: as one piece they leave with one system call, and with less work than each by itself.
 * @param messages of up to 65,535 bytes
 * @param nextMask gives the masks of a client's frames, 32 bits each; a server's have none
 */
export function joinedFrames(
  messages: readonly Uint8Array[],
  nextMask?: () => number,
): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const { byteLength } of messages) length += headBytes(byteLength, nextMask !== undefined) + byteLength
  const joined = new Uint8Array(length)
  let at = 0
  for (const message of messages) {
    const { byteLength } = message
    const masked = nextMask === undefined ? 0 : MASKED
    joined[at++] = FINAL_BINARY
    if (byteLength <= SHORT_LENGTH) joined[at++] = masked | byteLength
    else {
      joined[at++] = masked | TWO_BYTES
      joined[at++] = byteLength >> 8
      joined[at++] = byteLength
    }
    if (nextMask === undefined) joined.set(message, at)
    else {
      const mask = nextMask()
      for (let i = 0; i < MASK_BYTES; i++) joined[at++] = mask >>> (8 * i)
      for (let i = 0; i < byteLength; i++) joined[at + i] = message[i]! ^ (mask >>> (8 * (i & 3)))
    }
    at += byteLength
  }
  return joined
}

function headBytes(length: number, masked: boolean): number {
  return 2 + (length <= SHORT_LENGTH ? 0 : 2) + (masked ? MASK_BYTES : 0)
}
