import type { KeyType, PayloadKind } from '../../protocol/types.js'
import type { IndexCalls } from './index-calls.js'
import { type ChangeBatch, type WatchOptions, watchChanges } from './watch.js'

type Batches<K extends KeyType, P extends PayloadKind> = AsyncGenerator<ChangeBatch<K, P>, void, undefined>

/** As `Index.watch`, of one server or of several replica sets. */
export function watchIndex<K extends KeyType, P extends PayloadKind>(
  calls: IndexCalls,
  options: WatchOptions,
): Batches<K, P> {
  return (calls.connection.replicaSets.length > 1 ? watchParts : watchChanges)<K, P>(calls, options)
}

async function* watchParts<K extends KeyType, P extends PayloadKind>(
  calls: IndexCalls,
  options: WatchOptions,
): Batches<K, P> {
  yield* (await import('./cluster/watch-parts.js')).watchParts<K, P>(calls, options)
}
