/** `npm run test:all -- long` sets it. */
const isLong = process.env['TESTS'] === 'long';

/** The rows or the rounds of a test: `long` in `npm run test:all -- long`, `short` in `npm test`. */
export function inLongRun<Long, Short>(long: Long, short: Short): Long | Short {
  return isLong ? long : short;
}
