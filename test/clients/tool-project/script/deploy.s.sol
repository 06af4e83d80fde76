// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Box} from "../contracts/Box.sol";

/// The cheat codes of forge, without forge-std.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

contract Deploy {
    function run() public {
        Vm vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
        vm.startBroadcast();
        Box box = new Box();
        box.initialize(42);
        vm.stopBroadcast();
    }
}
