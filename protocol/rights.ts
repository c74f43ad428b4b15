/** What a token may allow on an index. Whoever has any of them on an index has `stats` on it. */
export const RIGHTS = ['read', 'write', 'create', 'drop', 'snapshot', 'stats'] as const
export type Right = (typeof RIGHTS)[number]
