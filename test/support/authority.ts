import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A certificate and its key, as PEM texts. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority of one test, made with openssl. */
export interface Authority {
  /** Its own certificate. */
  readonly ca: string;
  /** Issues a certificate for localhost and 127.0.0.1, for servers and clients. */
  issue(): Certified;
}

const subject = (name: string): string[] => ['-subj', `/CN=${name}`];

/** Makes an authority. Its files are deleted at the end of the test. */
export function makeAuthority(name: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ca-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...curve, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', ...subject(name));
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  return {
    ca: read('ca.pem'),
    issue: () => {
      openssl('req', ...curve, '-keyout', 'one.key', '-out', 'one.csr', ...subject('localhost'));
      const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
      openssl('x509', '-req', '-in', 'one.csr', ...by, '-out', 'one.pem', '-days', '30');
      return { cert: read('one.pem'), key: read('one.key') };
    },
  };
}
