// Before the page is painted, so that it never flashes in other colours, or shows what was switched off.
{
  const wanted = localStorage.getItem("roadworthy-theme");
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
  if (localStorage.getItem("roadworthy-outline") === "off") document.documentElement.dataset.outline = "off";
  if (new URLSearchParams(location.search).has("kinds")) document.documentElement.dataset.kinds = "open";
}
