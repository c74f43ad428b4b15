// What names these types compiles without the package, too: they are `any` then. In this form the comment stays in declarations.
// biome-ignore lint/suspicious/noTsIgnore: nothing is wrong where the package is installed
/** @ts-ignore */
export type { RecordBatch, Schema, Table } from 'apache-arrow'
// biome-ignore lint/suspicious/noTsIgnore: as above
/** @ts-ignore */
export type Arrow = typeof import('apache-arrow')
