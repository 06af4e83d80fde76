import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressGroup } from '../../gateway/auth/formats/address-group.ts';
import {
  digestOf,
  isDigest,
  isKeyId,
  isWellFormedKey,
  keyIdOf,
  KEY_MAX_LENGTH,
  makeKey,
} from '../../gateway/auth/formats/key.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keys = fc.constant(undefined).map(makeKey);

describe('a key', () => {
  it('is gh_ and 32 base62 characters, and well-formed', () => {
    for (let n = 0; n < 1_000; n += 1) {
      const key = makeKey();
      expect(key).toMatch(/^gh_[0-9A-Za-z]{32}$/);
      expect(key).toHaveLength(KEY_MAX_LENGTH);
      expect(isWellFormedKey(key)).toBe(true);
    }
  });

  it('is never created twice, and uses all characters about equally', () => {
    const made = Array.from({ length: 5_000 }, makeKey);
    expect(new Set(made).size).toBe(made.length);
    const random = made.map((key) => key.slice(3, 29)).join('');
    for (const character of base62) {
      const share = (random.split(character).length - 1) / (random.length / 62);
      // Of 130,000 characters each occurs 2,097 ± 46 times; 0.15 is nearly seven standard deviations.
      expect(Math.abs(share - 1)).toBeLessThan(0.15);
    }
  });

  it('is malformed with any single wrong character', () => {
    const key = makeKey();
    for (let at = 0; at < key.length; at += 1) {
      for (const character of `${base62}_-% `) {
        if (character === key[at]) continue;
        expect(isWellFormedKey(key.slice(0, at) + character + key.slice(at + 1))).toBe(false);
      }
    }
  });

  it('is malformed with two neighbouring characters swapped', () => {
    fc.assert(
      fc.property(keys, fc.nat(33), (key, at) => {
        const [a = '', b = ''] = [key[at], key[at + 1]];
        fc.pre(a !== b);
        expect(isWellFormedKey(key.slice(0, at) + b + a + key.slice(at + 2))).toBe(false);
      }),
    );
  });

  it('is malformed if it is shortened, lengthened or in another case', () => {
    fc.assert(
      fc.property(keys, fc.string({ minLength: 1, maxLength: 8 }), (key, more) => {
        const others = [key + more, more + key, key.slice(0, -1), key.slice(1), key.toUpperCase(), `${key}\n`];
        expect(others.filter(isWellFormedKey)).toEqual([]);
      }),
    );
  });

  it('of another service is 32 hexadecimal digits in any case', () => {
    expect(isWellFormedKey('0123456789abcdef0123456789abcdef')).toBe(true);
    expect(isWellFormedKey('0123456789ABCDEF0123456789abcdef')).toBe(true);
    for (const text of ['0123456789abcdef0123456789abcde', '0123456789abcdef0123456789abcdef0', 'g'.repeat(32), '']) {
      expect(isWellFormedKey(text)).toBe(false);
    }
  });

  it('is malformed if it is any other text', () => {
    fc.assert(
      // `fc.string({ unit: 'binary' })` takes seconds at its first use.
      fc.property(fc.array(fc.nat(0x10_ffff), { maxLength: 60 }), (codePoints) => {
        const text = String.fromCodePoint(...codePoints);
        expect(isWellFormedKey(text)).toBe(false);
      }),
    );
  });
});

describe('a digest', () => {
  it('is the SHA-256 of the unchanged key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(digestOf(text)).toBe(createHash('sha256').update(text).digest('hex'));
        expect(isDigest(digestOf(text))).toBe(true);
      }),
    );
    expect(digestOf('AB'.repeat(16))).not.toBe(digestOf('ab'.repeat(16)));
  });

  it('begins with the id', () => {
    const digest = digestOf('a');
    expect(keyIdOf(digest)).toBe('ca978112ca1b');
    expect(isKeyId(keyIdOf(digest))).toBe(true);
    for (const text of [digest, 'CA978112CA1B', 'ca978112ca1', '*', '']) expect(isKeyId(text)).toBe(false);
  });
});

describe('an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1:2:3:4%eth0', 'fe80:0:0:0'],
    ['', ''],
  ])('%s counts as %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});
