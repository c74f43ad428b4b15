import { encodeGolden, type GoldenColumn, type GoldenData, type GoldenMessage } from './golden.js'

// What golden frames are put together of.

export const LARGEST = 2 ** 53 - 1
export const hex = (text: string) => Buffer.from(text).toString('hex')

export const u32 = (name: string, ...values: number[]): GoldenColumn => ({ name, type: 'u32', values })
export const bytes = (name: string, ...rows: string[]): GoldenColumn => {
  const offsets = [0]
  for (const row of rows) offsets.push(offsets.at(-1)! + row.length / 2)
  return { name, type: 'bytes', bytes: rows.join(''), offsets }
}
export const blob = (name: string, content: string): GoldenColumn => ({ name, type: 'bytes', bytes: content })

export const control = (header: object, ...sections: GoldenColumn[]): GoldenMessage => ({
  header: { ...header },
  sections,
})
export const ask = (
  id: number,
  op: GoldenData['op'],
  count: number,
  columns: GoldenColumn[],
  more: Partial<GoldenData> = {},
) => ({
  ...{ id, op, handle: 3, generation: 1, count },
  ...more,
  columns,
})
export const answer = (id: number, op: GoldenData['op'], ...columns: GoldenColumn[]): GoldenMessage => ({
  id,
  op,
  columns,
})

/** A section with the frame of a request that is a part of another one. */
export const part = (name: string, message: GoldenMessage) =>
  blob(name, Buffer.from(encodeGolden(message)).toString('hex'))
export const appendOf = (relation: string, id: string) =>
  control(
    { id: 0, op: 'append', relation, rows: 1, columns: ['id'] },
    { name: '0.values', type: 'u64', values: [id] },
  )
export const scanOf = (relation: string) => ({ op: 'scan', relation })
