/** What an insert does with a key that is there already; the first is the default. */
export const INSERT_MODES = ['append', 'replace', 'ifAbsent'] as const
export type InsertMode = (typeof INSERT_MODES)[number]
