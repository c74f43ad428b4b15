import type { Device } from '../../../../gpu/device/device.js'
import type { DeviceRelation } from '../../../../gpu/relational/device-relation.js'
import { columnWords } from '../../../../protocol/column-types.js'
import { type RelationValue, unpackColumn } from '../../../../protocol/relation-values.js'

/** The values of every column of a relation, read back from the device. */
export async function readBack(
  device: Device,
  { rows, columns }: DeviceRelation,
): Promise<Record<string, RelationValue[]>> {
  const read: Record<string, RelationValue[]> = {}
  for (const [name, { type, values, validity, dictionary }] of columns) {
    const bytes = await device.read(values, rows * columnWords(type) * 4)
    const bits = validity && (await device.read(validity, Math.ceil(rows / 32) * 4))
    const numbers = unpackColumn({ values: bytes, validity: bits }, type === 'string' ? 'u32' : type)
    read[name] =
      dictionary === undefined
        ? numbers
        : numbers.map((code) => (code === null ? null : dictionary.at(Number(code))))
  }
  return read
}
