import { aligned, concatenate } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { Device } from '../../device/device.js'
import type { StructureImage } from '../../index-structure.js'
import { fillRegion, type ReadPart } from '../../memory/image-parts.js'
import type { Region } from '../../memory/region.js'
import { StringDictionary } from '../string-dictionary.js'
import { type ColumnKernels, StoredColumn, validityRegion, valuesRegion } from './stored-column.js'

/** Where a column's parts are. */
export interface ColumnImage {
  readonly meta: StructureImage['meta']
  /** The column's place among those of its relation, with which the names of its parts begin. */
  readonly number: number
  readonly readPart: ReadPart
}

/**
 * Brings a column back.
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
 */
export async function columnFromImage(
  device: Device,
  definition: ColumnDefinition,
  kernels: ColumnKernels,
  { meta, number, readPart }: ColumnImage,
): Promise<StoredColumn> {
  const rows = meta.rows
  if (typeof rows !== 'number')
    throw new WarpdexError('DAMAGED_FILE', 'the image does not say how many rows it has')
  const values = await valuesRegion(device, definition, rows)
  let validity: Region | undefined
  try {
    await fillRegion(device, values, rows, readPart(`${number}.values`))
    if (meta[`${number}.nulls`] === true) {
      const words = Math.ceil(rows / 32)
      validity = await validityRegion(device, definition, words)
      await fillRegion(device, validity, words, readPart(`${number}.validity`))
    }
    const strings = definition.type === 'string' ? await readStrings(number, readPart) : undefined
    return new StoredColumn(device, definition, kernels, { values, validity, strings })
  } catch (error) {
    values.destroy()
    validity?.destroy()
    throw error
  }
}

async function readStrings(number: number, readPart: ReadPart): Promise<StringDictionary> {
  const [bytes, offsets] = [
    await wholeOf(readPart(`${number}.strings`)),
    await wholeOf(readPart(`${number}.offsets`)),
  ]
  return new StringDictionary(bytes, aligned(offsets, Uint32Array))
}

async function wholeOf(chunks: ReturnType<ReadPart>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk.slice())
  return all.length === 0 ? new Uint8Array(0) : concatenate(all)
}
