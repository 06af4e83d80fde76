import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, as PEM texts. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority of one test, made with openssl. */
export interface Authority {
  /** Certificate of the authority. */
  readonly ca: string;
  /** Issues a certificate for localhost and 127.0.0.1, for servers and clients. */
  issue(): Certified;
}

const subject = (name: string): string[] => ['-subj', `/CN=${name}`];
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';

export function makeAuthority(name: string): Authority {
  const files = ['-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30'];
  const [ca = '', caKey = ''] = inFolder(
    {},
    ['ca.pem', 'ca.key'],
    [['req', '-x509', ...newKey, ...files, ...subject(name)]],
  );
  return {
    ca,
    issue: () => {
      const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '30'];
      const [cert = '', key = ''] = inFolder(
        { 'ca.pem': ca, 'ca.key': caKey, names },
        ['one.pem', 'one.key'],
        [
          ['req', ...newKey, '-keyout', 'one.key', '-out', 'one.csr', ...subject('localhost')],
          ['x509', '-req', '-in', 'one.csr', ...by, '-out', 'one.pem'],
        ],
      );
      return { cert, key };
    },
  };
}

/** Runs openssl in a temporary folder with these files. @returns the texts of the files that it has made */
function inFolder(
  files: Readonly<Record<string, string>>,
  made: readonly string[],
  commands: readonly (readonly string[])[],
): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ca-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    for (const args of commands) execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    return made.map((name) => readFileSync(join(folder, name), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
