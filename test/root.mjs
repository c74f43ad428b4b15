// What a test file has for tap's root: that itself, or the test of the file where a process runs several.
import root from 'tap'

let current = root

export { current as default }

/** Has a test stand for tap's root in the file that is imported next. */
export function stand(test) {
  current = test
}
