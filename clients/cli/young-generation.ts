import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Bytes of both halves of the young generation, of which one is in use at a time. */
const ENOUGH_BYTES = 4 * 2 ** 20
/** What outlives a collection, and so has it grow. */
const ROUNDS = 64
const ROUND_OBJECTS = 16 * 1024

/**
 * Keeps the young generation of this thread at 2 MiB, where it would grow to 16. While the device is waited for Dawn makes an object with a finalizer
 * in every turn of the event loop: the more there is room for, the longer the thread of the engine stands still when they go. The size can
 * be given on the command line of Node only, but whether it grows further can be said at any time. Threads that have a size of
 * their own keep it.
 */
export function keepYoungGenerationSmall(): void {
  for (let round = 0; round < ROUNDS && youngBytes() < ENOUGH_BYTES; round++) {
    Array.from({ length: ROUND_OBJECTS }, (_, i) => [i])
  }
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Bytes of the young generation as it is, 0 where there is none of that name. */
export function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
