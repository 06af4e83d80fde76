/** `npm run test:all -- properties` sets it. */
const isWhole = process.env['TESTS'] === 'properties';

/** Runs of a property: all of them in `npm run test:all -- properties`, a tenth in `npm test`. */
export function propertyRuns(all: number): number {
  return isWhole ? all : Math.ceil(all / 10);
}

/** The positions from `first` to `last`: all of them in `npm run test:all -- properties`, each eleventh in `npm test`. */
export function* positions(first: number, last: number): Generator<number> {
  for (let at = first; at <= last; at += isWhole ? 1 : 11) yield at;
}
