import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CredentialSearch } from '../../../gateway/upstreams/transport/credential-search.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const credential = 'abcd';
const word = fc.constantFrom('x', '\\', '\\\\', 'ab', 'cd', '\\u0061', credential);
/** Lengths of the chunks of each part. */
const cuts = fc.array(fc.array(fc.nat({ max: 40 }), { maxLength: 20 }), { minLength: 1, maxLength: 10 });

function cut(bytes: Buffer, lengths: readonly (readonly number[])[]): Buffer[][] {
  let at = 0;
  const next = (length: number): Buffer => bytes.subarray(at, (at = Math.min(bytes.length, at + length)));
  return [...lengths.map((part) => part.map(next)), [next(bytes.length)]];
}

it('a credential is found, and other bytes are passed on in their order, however they are cut', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 120 }), cuts, (words, lengths) => {
      const bytes = Buffer.from(words.join(''));
      const parts = cut(bytes, lengths);
      const search = new CredentialSearch((some) => some.includes(credential), 6 * credential.length);
      const passAll = (): Buffer =>
        Buffer.concat(parts.flatMap((found, index) => search.pass(found, index === parts.length - 1)));
      if (bytes.includes(credential)) expect(passAll).toThrow('the result has a credential');
      else expect(passAll()).toEqual(bytes);
    }),
    { numRuns: propertyRuns(2_000) },
  );
});
