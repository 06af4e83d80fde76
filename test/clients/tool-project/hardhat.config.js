import hardhatEthers from '@nomicfoundation/hardhat-ethers';
import hardhatIgnition from '@nomicfoundation/hardhat-ignition';
import networkHelpers from '@nomicfoundation/hardhat-network-helpers';
import hardhatUpgrades from '@openzeppelin/hardhat-upgrades';
import { defineConfig } from 'hardhat/config';
import { createRequire } from 'node:module';

// The compiler from npm: Hardhat would download one.
const solc = createRequire(import.meta.url).resolve('solc/soljson.js');
const url = process.env['GATEWAY_URL'];

export default defineConfig({
  plugins: [hardhatEthers, hardhatIgnition, networkHelpers, hardhatUpgrades],
  solidity: { compilers: [{ version: '0.8.30', path: solc }] },
  networks: {
    gateway: { type: 'http', url },
    fork: { type: 'edr-simulated', forking: { url } },
  },
});
