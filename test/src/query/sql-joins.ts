import type { JoinKind } from '../../../protocol/query/tree.js'

/** What DuckDB calls the kinds of joins. */
export const SQL_JOINS: Readonly<Record<JoinKind, string>> = {
  inner: 'join',
  left: 'left join',
  right: 'right join',
  full: 'full join',
  semi: 'semi join',
  anti: 'anti join',
}
