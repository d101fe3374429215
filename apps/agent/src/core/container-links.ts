/**
 * Whether a network link is of containers or virtual machines on this machine. Docker's bridges have 12 hexadecimal digits: one such as
 * `br-lan` may be how the machine is connected.
 */
export const isOfContainers = (link: string): boolean =>
  /^(?:docker|veth|cni|podman|virbr|vnet|lxcbr|lxdbr|br-[0-9a-f]{12}$)/.test(link);
