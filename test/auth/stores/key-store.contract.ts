import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import type { KeyStore } from '../../../gateway/auth/stores/key-store.ts';
import { eventually } from '../eventually.ts';

/** One place that several stores open at once, as a gateway and its command line do. */
export interface StorePlace {
  open(): Promise<KeyStore>;
  /** Removes the place and all in it. */
  remove(): Promise<void>;
}

/** What every key store promises. A new kind of store is held to it by a test of six lines. */
export function keyStoreContract(kind: KeyStore['kind'], makePlace: () => Promise<StorePlace>): void {
  describe(`the ${kind} key store`, () => {
    const createdAt = '2026-01-02T03:04:05.678Z';
    let place: StorePlace;
    let opened: KeyStore[];
    let store: KeyStore;

    const open = async (): Promise<KeyStore> => {
      const one = await place.open();
      await one.waitUntilReady(2_000);
      opened.push(one);
      return one;
    };

    beforeEach(async () => {
      place = await makePlace();
      opened = [];
      store = await open();
    });
    afterEach(async () => {
      await Promise.all(opened.map((one) => one.close()));
      await place.remove();
    });

    it('says what it is and that it is there', () => {
      expect(store.kind).toBe(kind);
      expect(store.isAvailable).toBe(true);
      expect(store.freshForMs).toBeGreaterThanOrEqual(1_000);
    });

    it('finds a key that was added, by its digest', async () => {
      const digest = digestOf(makeKey());
      expect(await store.add(digest, { name: 'alice', createdAt })).toBe(true);
      expect(await store.find(digest)).toEqual({ id: keyIdOf(digest), name: 'alice', createdAt });
    });

    it('finds nothing of a key that was never added', async () => {
      expect(await store.find(digestOf(makeKey()))).toBeUndefined();
    });

    it('keeps the mark of a development key', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'development', createdAt, development: true });
      expect(await store.find(digest)).toMatchObject({ development: true });
    });

    it('keeps any name as it is', async () => {
      const name = 'Zoë "the, key" \\ 鍵 __proto__';
      const digest = digestOf(makeKey());
      await store.add(digest, { name, createdAt });
      expect((await store.find(digest))?.name).toBe(name);
    });

    it('leaves a key as it is when it is added again', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'first', createdAt });
      expect(await store.add(digest, { name: 'second', createdAt: '2026-05-05T00:00:00.000Z' })).toBe(false);
      expect(await store.find(digest)).toEqual({ id: keyIdOf(digest), name: 'first', createdAt });
    });

    it('takes over a revocation with a key that is added again, and never undoes one', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'alice', createdAt });
      await store.add(digest, { name: 'alice', createdAt, revokedAt: '2026-06-06T00:00:00.000Z' });
      await store.add(digest, { name: 'alice', createdAt });
      expect(await store.find(digest)).toMatchObject({ revokedAt: '2026-06-06T00:00:00.000Z' });
    });

    it('lists all keys, oldest first', async () => {
      expect(await store.list()).toEqual([]);
      for (const [name, year] of Object.entries({ middle: 2025, oldest: 2024, newest: 2026 })) {
        await store.add(digestOf(makeKey()), { name, createdAt: `${year}-01-01T00:00:00.000Z` });
      }
      expect((await store.list()).map((record) => record.name)).toEqual(['oldest', 'middle', 'newest']);
    });

    it('shows a key by its id', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'alice', createdAt });
      expect(await store.show(keyIdOf(digest))).toEqual(await store.find(digest));
    });

    it('shows nothing for an id that is unknown, cut short or a pattern', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'alice', createdAt });
      for (const id of ['000000000000', keyIdOf(digest).slice(0, 6), '*', '']) {
        expect(await store.show(id)).toBeUndefined();
        expect(await store.revoke(id)).toBeUndefined();
      }
      expect((await store.find(digest))?.revokedAt).toBeUndefined();
    });

    it('revokes a key, which stays listed, and keeps the time of the first revocation', async () => {
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'alice', createdAt });
      const revoked = await store.revoke(keyIdOf(digest));
      expect(Date.parse(revoked?.revokedAt ?? '')).toBeGreaterThan(Date.now() - 5_000);
      expect(await store.find(digest)).toEqual(revoked);
      expect(await store.list()).toEqual([revoked]);
      expect(await store.revoke(keyIdOf(digest))).toEqual(revoked);
    });

    it('shows what another process did, and tells of it within a second', async () => {
      const other = await open();
      const digest = digestOf(makeKey());
      const told: (string | undefined)[] = [];
      store.onChange((changed) => told.push(changed));
      const heard = (): boolean => told.splice(0).some((changed) => changed === digest || changed === undefined);

      await other.add(digest, { name: 'alice', createdAt });
      await eventually(heard, 1_000);
      expect(await store.find(digest)).toMatchObject({ name: 'alice' });

      await other.revoke(keyIdOf(digest));
      await eventually(heard, 1_000);
      expect((await store.find(digest))?.revokedAt).toBeDefined();
    });

    it('tells of its own changes, too', async () => {
      const told: (string | undefined)[] = [];
      store.onChange((changed) => told.push(changed));
      const digest = digestOf(makeKey());
      await store.add(digest, { name: 'alice', createdAt });
      await eventually(() => told.includes(digest) || told.includes(undefined), 1_000);
    });

    it('loses nothing when two processes write at once', async () => {
      const other = await open();
      const digests = Array.from({ length: 40 }, () => digestOf(makeKey()));
      await Promise.all(
        digests.map((digest, at) => (at % 2 === 0 ? store : other).add(digest, { name: `key ${at}`, createdAt })),
      );
      const third = await open();
      expect((await third.list()).map(({ id }) => id).sort()).toEqual(digests.map(keyIdOf).sort());
    });
  });
}
