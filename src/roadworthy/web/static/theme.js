// Before the page is painted, so that it never flashes in the other colours.
{
  const wanted = localStorage.getItem("roadworthy-theme");
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
}
