import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Bytes of both halves of the young generation, of which one is in use at a time. */
const ENOUGH_BYTES = 4 * 2 ** 20
/** What outlives a collection, and so has it grow. */
const ROUNDS = 64
const ROUND_OBJECTS = 16 * 1024

/** MiB of a half in threads, which have no more by their own limits and would not grow to that any more. */
const THREAD_MIB = 4

/** How often it is said again while threads are started. */
const AGAIN_MS = 1

/**
 * Keeps the young generation of this thread at 2 MiB, where it would grow to 16. While the device is waited for Dawn makes an object with a finalizer
 * in every turn of the event loop: the more there is room for, the longer the thread of the engine stands still when they go. The size can
 * be given on the command line of Node only, but whether it grows further can be said at any time. To be called before anything else is
 * loaded.
 */
export function keepYoungGenerationSmall(): void {
  stopGrowth()
}

/**
 * The same during work that starts threads: V8 takes what was said back whenever it makes another heap. Until then there is half as much, since it
 * may grow by one step in that moment.
 */
export async function keepingYoungGenerationSmall<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(stopGrowth, AGAIN_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
    growToEnough()
    stopGrowth()
  }
}

function growToEnough(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  for (let round = 0; round < ROUNDS && youngBytes() < ENOUGH_BYTES; round++) {
    Array.from({ length: ROUND_OBJECTS }, (_, i) => [i])
  }
}

/** No young generation grows from now on; those of threads to come have what they may have from the beginning. */
function stopGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString(`--min-semi-space-size=${THREAD_MIB}`)
}

/** Bytes of the young generation as it is, 0 where there is none of that name. */
export function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
