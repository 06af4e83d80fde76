import type { StoreError } from '../../store/store-error.ts';
import type { KeyRecord } from '../stores/key-store.ts';

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

/** Some keys could not be revoked. */
export class RevocationError extends Error {
  readonly failed: readonly FailedRevocation[];

  constructor(failed: readonly FailedRevocation[]) {
    super(failureText(failed));
    this.failed = failed;
  }
}

/** The message of each failure. One that several keys share is there once, after their ids. */
function failureText(failed: readonly FailedRevocation[]): string {
  const ids = new Map<string, string[]>();
  for (const { id, error } of failed) ids.set(error.message, [...(ids.get(error.message) ?? []), id]);
  const lines = [...ids].map(([message, own]) =>
    own.every((id) => message.includes(id)) ? message : `${own.join(', ')}: ${message}`,
  );
  return lines.join('\n');
}
