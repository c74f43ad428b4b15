import { encodeDataRequest } from '../../../protocol/data-frame.js'
import { wireColumn } from '../../../protocol/data-request.js'

/** The frame of a get of u32 keys, of any index. */
export function getFrame(keys: Uint32Array, deadline?: number): Uint8Array<ArrayBuffer> {
  const columns = { keys: wireColumn('u32', keys) }
  return encodeDataRequest({
    id: 1,
    op: 'get',
    handle: 1,
    generation: 1,
    count: keys.length,
    deadline,
    columns,
  })
}
