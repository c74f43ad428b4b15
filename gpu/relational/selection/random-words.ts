import type { Build } from '../expressions/evaluate.js'

/** The finaliser of MurmurHash3. */
const SCATTERED = `fn scattered(number: u32) -> u32 {
  var hash = (number ^ (number >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  return hash ^ (hash >> 16u);
}`

/**
 * A column of words that look random and come again for the same numbers: those from `first` on, modulo 2^32.
 * @param mask bits that the words have
 */
export function randomWords(first: number, mask = 0xffffffff): Build {
  return (code) => {
    const hash = `${code.define('scattered', SCATTERED)}(${code.row} + ${code.word(first)})`
    return code.computed('u32', `${hash} & ${code.word(mask)}`)
  }
}
