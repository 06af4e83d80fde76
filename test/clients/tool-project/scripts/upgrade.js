import { upgrades } from '@openzeppelin/hardhat-upgrades';
import hre from 'hardhat';

const connection = await hre.network.create();
const { ethers } = connection;
const api = await upgrades(hre, connection);
const proxy = await api.deployProxy(await ethers.getContractFactory('Box'), [42]);
await proxy.waitForDeployment();
const address = await proxy.getAddress();
const upgraded = await api.upgradeProxy(address, await ethers.getContractFactory('BoxV2'));
await (await upgraded.increment()).wait();
console.log(JSON.stringify({ address, number: Number(await upgraded.number()) }));
