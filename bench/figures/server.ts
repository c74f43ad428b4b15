import { type Kept, showNumber } from './kept.js'
import { type KeptPeers, lookupRate, PEER_BATCHES, PEERS } from './peers.js'
import { grid, type Table } from './table.js'

const LOADS = [
  ['one key at a time', 'batches of 1, depth 1'],
  ['batches of 1,000, 8 in flight', 'batches of 1000, depth 8'],
  ['batches of 65,536, 8 in flight', 'batches of 65536, depth 8'],
  ['batches of 262,144, 8 in flight', 'batches of 262144, depth 8'],
  ['batches of 262,144, 4 in flight, eight clients', 'batches of 262144, depth 4, 8 clients'],
  ['single keys, 64 connections with 16 in flight', 'batches of 1, depth 16, 4 clients of 16 connections'],
] as const

/** What is stored: a row, its figure, and which of the files has it. */
const STORED = [
  ['bulk load of 2^24 rows u32 → u32, in process', 'u32 → u32 in process, chunks of 1048576', 'Mrows/s', 0],
  ['the same over WebSocket', 'u32 → u32 over WebSocket', 'Mrows/s', 0],
  [
    'durable inserts u64 → u64 over WebSocket, batches of 65,536, 8 in flight, 2^26 rows',
    'inserts of 67108864 keys, u64 → u64, batches of 65536, depth 8',
    'Mrows/s',
    1,
  ],
  [
    'a billion keys u32 → u32 in 16 shards, in process: bulk load',
    'u32 → u32, 1000 million keys',
    'load M/s',
    2,
  ],
  ['their lookups in batches of 2^20', 'u32 → u32, 1000 million keys', 'get 1048576 M/s', 2],
  ['the same after a restart', 'u32 → u32, 1000 million keys', 'get 1048576 after it M/s', 2],
] as const

/** Millions of lookups a second, u64 to 16 bytes. */
function lookupsOfPeer(kept: Kept, batch: number, peer: string): string {
  const rate = lookupRate(kept.content as KeptPeers, batch, peer)
  return rate === undefined ? '' : showNumber(rate * 1e-6)
}

export const SERVER: readonly Table[] = [
  grid({
    name: 'device',
    files: ['nvidia-h200/device.json'],
    corner: 'u32 keys and payloads, 2^26 random keys, on the device',
    lines: [
      ['lookups, all found: G/s', ['get Mkeys/s', 1e-3]],
      ['memory: bytes per key', ['B/key', 1]],
      ['bulk build, sort included, kernels alone: G keys/s', ['build, kernels alone', 1e-3]],
      ['with the allocation of its memory and round trips', ['build Mkeys/s', 1e-3]],
      ['insert of a sixteenth as many keys, kernels alone: G keys/s', ['insert, kernels alone', 1e-3]],
      ['with round trips', ['insert 1/16 Mkeys/s', 1e-3]],
      ['the same where regions must grow first', ['growing', 1e-3]],
      ['delete of a sixteenth as many keys, kernels alone: G keys/s', ['delete, kernels alone', 1e-3]],
      ['with round trips', ['delete 1/16 Mkeys/s', 1e-3]],
      ['scans of 32 entries, left on the device: G scans/s', ['Mscans/s of 32, on the device', 1e-3]],
      ['the same, read back: M entries/s', ['scan 32 Mentries/s', 1]],
    ],
    columns: [
      ['CSS-tree', 'u32 → u32, CSS-tree, 2^26'],
      ['prefix tree', 'u32 → u32, 2^26'],
    ],
    cell: (kept, [figure, scale], row) => kept.show(row, figure as string, scale as number),
  }),
  grid({
    name: 'strings',
    files: ['nvidia-h200/strings.json'],
    corner: '2^20 URLs of 60 bytes, batches of 2^20, from the form of the wire',
    lines: [
      ['lookups: G/s', 'get Mkeys/s'],
      ['insert into nothing: G keys/s', 'insert Mkeys/s'],
    ],
    columns: [
      ['CSS-tree', 'URLs, css, 1048576 keys'],
      ['prefix tree', 'URLs, prefix, 1048576 keys'],
    ],
    cell: (kept, figure, row) => kept.show(row, figure, 1e-3),
  }),
  grid({
    name: 'serve',
    files: ['nvidia-h200/serve.json', 'nvidia-h200/serve-other-host.json'],
    corner: 'lookups over loopback WebSocket, 2^26 u32 keys',
    lines: LOADS,
    columns: [
      ['M/s', ['lookups/s', 0]],
      ['median, ms', ['p50 ms', 0]],
      ['p99, ms', ['p99 ms', 0]],
      ['on a slower host: M/s', ['lookups/s', 1]],
      ['median, ms', ['p50 ms', 1]],
    ],
    cell: (kept, load, [figure, file], others) =>
      (file === 0 ? kept : others[0]!).show(load, figure as string, figure === 'lookups/s' ? 1e-6 : 1),
  }),
  grid({
    name: 'stored',
    files: ['nvidia-h200/bulk.json', 'nvidia-h200/serve-other-host.json', 'nvidia-h200/shards.json'],
    lines: STORED.map(([label, ...rest]) => [label, rest] as const),
    columns: [['M/s', 0]],
    cell: (kept, [row, figure, file], _, others) => [kept, ...others][file]!.show(row, figure),
  }),
  grid({
    name: 'peers',
    files: ['nvidia-h200/peers.json'],
    corner: 'lookups, a million u64 keys, 16 bytes each: M/s in batches of',
    lines: PEER_BATCHES.map((batch) => [batch.toLocaleString('en'), batch] as const),
    columns: PEERS.map((peer) => [peer, peer] as const),
    cell: lookupsOfPeer,
  }),
]
