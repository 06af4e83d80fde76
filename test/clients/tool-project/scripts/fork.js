import hre from 'hardhat';

const counter = process.env['COUNTER'];
const { ethers, networkHelpers } = await hre.network.create('fork');
const storage = Number(await ethers.provider.getStorage(counter, 0));
const first = await ethers.provider.getBlockNumber();
await networkHelpers.mine(2);
const mined = (await ethers.provider.getBlockNumber()) - first;
await networkHelpers.setStorageAt(counter, 0, 7);
console.log(JSON.stringify({ storage, mined, changed: Number(await ethers.provider.getStorage(counter, 0)) }));
