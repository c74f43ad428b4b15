/** Has something done when all is done that follows from what has happened, in every caller. */
export const afterThis: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : setTimeout
