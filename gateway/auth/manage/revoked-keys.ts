import type { KeyRecord, RevocationOutcome } from '../stores/key-store.ts';
import { StoreError } from '../../store/store-error.ts';
import { noSuchKey } from './key-operation-error.ts';

/** What a revocation of several keys has done. */
export interface RevokedKeys {
  /** Records of the revoked keys, in the order of their ids. */
  readonly revoked: readonly KeyRecord[];
  readonly failed: readonly FailedRevocation[];
}

export interface FailedRevocation {
  readonly id: string;
  readonly error: StoreError;
}

/** @throws the first error that is not one of the store */
export function toRevokedKeys(ids: readonly string[], outcomes: readonly RevocationOutcome[]): RevokedKeys {
  const revoked: KeyRecord[] = [];
  const failed: FailedRevocation[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const id = ids[index] ?? '';
    if (outcome.status === 'fulfilled') {
      if (outcome.value === undefined) failed.push({ id, error: noSuchKey(id) });
      else revoked.push(outcome.value);
    } else if (outcome.reason instanceof StoreError) failed.push({ id, error: outcome.reason });
    else throw outcome.reason;
  }
  return { revoked, failed };
}

/** Some keys could not be revoked. */
export class RevocationError extends Error {
  readonly failed: readonly FailedRevocation[];

  constructor(failed: readonly FailedRevocation[]) {
    super(failureText(failed));
    this.failed = failed;
  }
}

/** The message of each failure. One that several keys share is there once, after their ids. */
export function failureText(failed: readonly FailedRevocation[]): string {
  const ids = new Map<string, string[]>();
  for (const { id, error } of failed) ids.set(error.message, [...(ids.get(error.message) ?? []), id]);
  const lines = [...ids].map(([message, own]) =>
    own.every((id) => message.includes(id)) ? message : `${own.join(', ')}: ${message}`,
  );
  return lines.join('\n');
}
