/** What the command's exit code says. */
export const ExitCode = {
  done: 0,
  /** A key was not found or, for writes that want none, was there already. */
  miss: 1,
  error: 2,
} as const
