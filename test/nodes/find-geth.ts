import { findGoProgram } from '../support/go-program.ts';

/** The version to which the allowed differences apply. */
export const GETH_VERSION = '1.17.5';

/** The path of geth in this version. @throws Error that names what is missing */
export function findGeth(): string {
  return findGoProgram({
    name: 'geth',
    package: 'github.com/ethereum/go-ethereum/cmd/geth',
    version: GETH_VERSION,
    versionArgs: ['version'],
    versionText: `Version: ${GETH_VERSION}-`,
  });
}
