import type { LoadCounts } from '../../protocol/load.js'
import { ResultCode } from '../../protocol/types.js'
import { uniformCode } from '../../protocol/uniform-code.js'

/** How many rows of an insert became what. */
export function countCodes(codes: Uint8Array): LoadCounts {
  const counts = new Uint32Array(ResultCode.notANumber + 1)
  const uniform = uniformCode(codes)
  if (uniform !== undefined) counts[uniform] = codes.length
  else for (let i = 0; i < codes.length; i++) counts[codes[i]]++
  return {
    rows: codes.length,
    inserted: counts[ResultCode.inserted],
    replaced: counts[ResultCode.replaced],
    existing: counts[ResultCode.exists],
    refused: counts[ResultCode.notANumber],
  }
}
